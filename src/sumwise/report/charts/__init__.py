"""Charts as inline SVG: numbers in, markup out. Colors come from the style sheet of the page."""
