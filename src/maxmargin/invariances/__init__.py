"""What must not change a prediction: transforms of images, for :class:`maxmargin.VirtualSVC`.

Each function returns a list of transforms. A transform takes points, one image per row, and returns as many of the same
length; a function of your own does, too.
"""

from maxmargin.invariances.images import ImageMap, Thickness, rotations, scalings, shears, shifts, thickness

__all__ = ["ImageMap", "Thickness", "rotations", "scalings", "shears", "shifts", "thickness"]
