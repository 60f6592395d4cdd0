import numpy as np
import pytest
import scipy.sparse as sp
from scipy import ndimage

from maxmargin.invariances import Thickness, rotations, scalings, shears, shifts, thickness


def _image(height=7, width=9, seed=0):
    return np.random.default_rng(seed).random((height, width))


def _changed(transform, image):
    return transform(image.reshape(1, -1)).reshape(image.shape)


def _affine(image, matrix, shift=(0.0, 0.0), fill=0.0):
    """SciPy's own resampling with the formula of the module."""
    middle = (np.array(image.shape) - 1) / 2.0
    padded = np.pad(image, 20, constant_values=fill)
    centre = middle + 20
    offset = centre - np.array(matrix) @ centre - np.array(shift)
    return ndimage.affine_transform(padded, matrix, offset, order=1, cval=fill)[20:-20, 20:-20]


def test_whole_shifts_move_pixels():
    image = _image()
    down, up, right, left = (_changed(t, image) for t in shifts(image.shape))
    np.testing.assert_array_equal(down[1:], image[:-1])
    np.testing.assert_array_equal(up[:-1], image[1:])
    np.testing.assert_array_equal(right[:, 1:], image[:, :-1])
    np.testing.assert_array_equal(left[:, :-1], image[:, 1:])
    assert not down[0].any()
    corner = _changed(shifts(image.shape, diagonal=True)[4], image)
    np.testing.assert_array_equal(corner[1:, 1:], image[:-1, :-1])


@pytest.mark.parametrize("fill", [0.0, 0.7])
def test_all_maps_against_scipy(fill):
    image = _image()
    for transform in [
        *shifts(image.shape, 0.4, fill=fill),
        *rotations(image.shape, [-25, 10, 90], fill=fill),
        *scalings(image.shape, [0.8, 1.3], fill=fill),
        *shears(image.shape, fill=fill),
    ]:
        expected = _affine(image, transform.matrix, transform.shift, fill)
        np.testing.assert_allclose(_changed(transform, image), expected, atol=1e-10)


def test_directions():
    image = np.arange(4.0).reshape(2, 2)
    np.testing.assert_allclose(_changed(rotations((2, 2), [90])[0], image), np.rot90(image), atol=1e-12)
    disc = np.zeros((21, 21))
    disc[7:14, 7:14] = 1.0
    smaller, larger = (_changed(t, disc).sum() for t in scalings(disc.shape))
    assert smaller < disc.sum() < larger


def test_thickness():
    image = np.zeros((5, 5))
    image[2, 2] = 1.0
    thicker = _changed(Thickness((5, 5), 1.0), image)
    assert thicker.sum() == 5
    np.testing.assert_array_equal(_changed(Thickness((5, 5), -1.0), thicker), image)
    half = _changed(thickness((5, 5))[1], image)
    assert (half[2, 1], half[2, 2], half.sum()) == (0.5, 1.0, 3.0)


def test_channels_sparse_images_and_pickles():
    import pickle

    rng = np.random.default_rng(0)
    image = rng.random((4, 5, 3))
    for transform in [*rotations((4, 5, 3)), *thickness((4, 5, 3))]:
        one = pickle.loads(pickle.dumps(transform))
        changed = one(image.reshape(1, -1)).reshape(image.shape)
        plain = type(transform)(**{**vars(transform), "image_shape": (4, 5)})
        for c in range(3):
            np.testing.assert_allclose(changed[:, :, c], _changed(plain, image[:, :, c]), atol=1e-12)
    X = sp.random_array((6, 20), density=0.3, random_state=0, format="csr")
    for transform in [*shifts((4, 5)), *thickness((4, 5))]:
        found = transform(X)
        np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, transform(X.toarray()), atol=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match=r"\(height, width\)"):
        shifts((784,))
    with pytest.raises(ValueError, match="image_shape"):
        shifts((0, 3))
    with pytest.raises(ValueError, match="pixels"):
        shifts((3, 3), 0)
    with pytest.raises(ValueError, match="factors"):
        scalings((3, 3), [0.0])
    with pytest.raises(ValueError, match="changes"):
        thickness((3, 3), [-2])
    with pytest.raises(ValueError, match="9 pixels, but the points have 4 features"):
        shifts((3, 3))[0](np.ones((1, 4)))
