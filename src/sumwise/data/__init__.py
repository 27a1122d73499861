"""From any table to one binned table that every tree method shares."""
