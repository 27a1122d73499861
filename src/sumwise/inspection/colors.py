"""Colors that color-blind readers can distinguish."""

from colorsys import hsv_to_rgb

# Okabe and Ito's palette, the strongest colors first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def pick_color(number: int, n_colors: int) -> str:
    """Return one of ``n_colors`` different colors: of the palette, or of a circle of hues."""
    if n_colors <= len(COLORS):
        return COLORS[number]
    # Neighbors differ in brightness, too.
    parts = hsv_to_rgb(number / n_colors, 0.85, 0.6 if number % 2 else 0.95)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)


def color_of_class(number: int, share: float, n_classes: int) -> str:
    """Return the color of a node whose most frequent class has this share of its rows.

    It is white if all classes have the same share. It is pale enough for black text if one class
    has all rows.
    """
    chance = 1.0 / max(n_classes, 2)
    strength = 0.65 * min(max((share - chance) / (1.0 - chance), 0.0), 1.0)
    return blend(pick_color(number, n_classes), strength)


def blend(color: str, strength: float) -> str:
    """Mix a color with white: 0 is white, 1 the color."""
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = [round(255 + strength * (part - 255)) for part in parts]
    return "#" + "".join(f"{part:02X}" for part in mixed)
