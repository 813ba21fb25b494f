"""Meshes and clouds of points, against the smooth shapes that they were made from."""

import math

import numpy as np
import pytest
import trimesh

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Ball, Box, Disc, Ellipse, Interval, Mesh, PointCloud, Polygon
from pinnsig.geometry.triangles import Triangles
from tests.geometry.shapes import L_SHAPE, boundary, drawer


def stl(tmp_path, mesh: trimesh.Trimesh) -> str:
    path = tmp_path / "part.stl"
    path.write_text(str(mesh.export(file_type="stl_ascii")))
    return str(path)


def cloud(domain, count: int, **options) -> PointCloud:
    points, normals = boundary(domain, count, "sobol")
    return PointCloud(points, 3.0 * normals, names=domain.names, **options)


SPHERE = trimesh.creation.icosphere(subdivisions=3, radius=1.0)
BLOCK = trimesh.creation.box(extents=(2.0, 1.0, 0.5))
RING = trimesh.creation.torus(1.0, 0.3, major_sections=48, minor_sections=24)


# --- meshes -----------------------------------------------------------------------------------


def test_a_block_is_a_box(tmp_path):
    mesh = Mesh(stl(tmp_path, BLOCK), name="skin")
    box = Box(x=(-1.0, 1.0), y=(-0.5, 0.5), z=(-0.25, 0.25))
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (3000, 3))
    np.testing.assert_allclose(mesh.distance(points), box.distance(points), atol=1e-12)
    assert (mesh.contains(points) == box.contains(points)).all()
    assert mesh.measure == pytest.approx(1.0)
    assert mesh.part_measure(mesh.parts("skin")[0]) == pytest.approx(7.0)
    on, normals = mesh.sample_part(mesh.parts("skin")[0], 7000, drawer())
    assert np.abs(box.distance(on)).max() < 1e-12
    assert mesh.contains(on).all()
    assert np.abs(normals).max(axis=1) == pytest.approx(1.0)
    for axis, share in enumerate((1.0, 2.0, 4.0)):  # areas of both faces, of 7
        assert (np.abs(normals[:, axis]) > 0.5).mean() == pytest.approx(share / 7, abs=0.02)
    assert (box.distance(on + 1e-6 * normals) > 0).all()
    inside = mesh.sample(4000, drawer("sobol"))
    counts = np.histogramdd(inside, (4, 2, 2), [(-1, 1), (-0.5, 0.5), (-0.25, 0.25)])[0]
    np.testing.assert_allclose(counts, 250, atol=25)


def test_a_sphere_and_a_ring_against_trimesh():
    sphere = Mesh(SPHERE)
    points = np.random.default_rng(1).uniform(-1.2, 1.2, (2000, 3))
    exact = Ball(center=(0.0, 0.0, 0.0)).distance(points)
    np.testing.assert_allclose(sphere.distance(points), exact, atol=0.01)  # facets
    assert sphere.measure == pytest.approx(SPHERE.volume)
    ring = Mesh(RING)
    flat = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2]) - 0.3
    np.testing.assert_allclose(ring.distance(points), flat, atol=0.01)
    assert ring.named_measure(ring.part) == pytest.approx(RING.area)
    inside = ring.sample(2000, drawer())
    assert (ring.distance(inside) < 0).all()
    on, normals = ring.sample_part(ring.part, 500, drawer())
    assert (ring.distance(on - 1e-5 * normals) < 0).all()


def test_distance_to_triangles_by_brute_force():
    corners = np.random.default_rng(2).normal(size=(40, 3, 3))
    points = np.random.default_rng(3).normal(size=(30, 3))
    u, v = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    u, v = u[u + v <= 1], v[u + v <= 1]
    weights = np.stack([1 - u - v, u, v], axis=1)
    dense = np.einsum("pk,tkj->tpj", weights, corners).reshape(-1, 3)
    brute = np.stack([np.linalg.norm(dense - p, axis=1).min() for p in points])
    found = Triangles(corners).distance(points)
    assert (found <= brute + 1e-12).all()
    np.testing.assert_allclose(found, brute, atol=0.02)


def test_a_mesh_that_is_inside_out_or_in_millimetres(tmp_path):
    turned = BLOCK.copy()
    turned.invert()
    mesh = Mesh(stl(tmp_path, turned), scale=1e-3, names=("a", "b", "c"))
    assert mesh.measure == pytest.approx(1e-9)
    points, normals = mesh.sample_part(mesh.part, 50, drawer())
    assert (np.einsum("ij,ij->i", points, normals) > 0).all()
    assert mesh.names == ("a", "b", "c")


def test_meshes_in_combinations_and_products():
    bored = Mesh(BLOCK) - Ball(center=(0.0, 0.0, 0.0), radius=0.2, name="hole")
    assert bored.measure == pytest.approx(1.0 - 4 / 3 * math.pi * 0.008, rel=2e-3)
    assert (Mesh(BLOCK) * Interval(t=(0, 2))).measure == pytest.approx(2.0)


def test_what_is_no_solid(tmp_path):
    opened = trimesh.Trimesh(SPHERE.vertices, SPHERE.faces[1:])
    with pytest.raises(ProblemError, match=r"its surface is not closed \(watertight\)"):
        Mesh(stl(tmp_path, opened))
    with pytest.raises(ProblemError, match="there is no file nowhere.stl"):
        Mesh("nowhere.stl")
    empty = tmp_path / "empty.stl"
    empty.write_text("solid nothing\nendsolid nothing\n")
    with pytest.raises(ProblemError, match=r"empty\.stl (cannot be read|holds no triangles)"):
        Mesh(empty)
    with pytest.raises(ProblemError, match="Mesh: 3 is no file"):
        Mesh(3)
    with pytest.raises(ProblemError, match="has no formula for a smooth distance: leave out hard"):
        Mesh(BLOCK).approximate_distance()


# --- clouds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "count"),
    [
        (Disc(center=(0.5, 0.0), radius=2.0), 400),
        (Ellipse(radii=(2.0, 1.0), angle=0.4), 600),
        (Polygon(L_SHAPE), 1000),
        (Ball(center=(1.0, 0.0, 0.0), radius=0.5), 3000),
    ],
)
def test_a_cloud_is_the_shape_that_it_was_taken_from(domain, count):
    found = cloud(domain, count)
    points = np.random.default_rng(0).uniform(domain.lower - 0.3, domain.upper + 0.3,
                                              (2000, domain.dimensions))  # fmt: skip
    exact = domain.distance(points)
    clear = np.abs(exact) > 0.05 * domain.size
    assert (found.inside(points) == (exact < 0))[clear].all()
    np.testing.assert_allclose(found.distance(points)[clear], exact[clear], atol=0.03)
    assert found.measure == pytest.approx(domain.measure, rel=0.02)
    size = sum(domain.part_measure(part) for part in domain.sides)
    assert found.part_measure(found.part) == pytest.approx(size, rel=0.03)
    on, normals = found.sample_part(found.part, 300, drawer("lhs"))
    assert np.abs(domain.distance(on)).max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    assert found.contains(on).all()
    inside = found.sample(2000, drawer())
    np.testing.assert_allclose(inside.mean(axis=0), domain.sample(20_000, drawer()).mean(axis=0),
                               atol=0.05)  # fmt: skip


def test_weights_of_points():
    angle = np.linspace(0.0, 2 * math.pi, 64, endpoint=False)
    on = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    given = PointCloud(on, on, weights=np.full(64, 2 * math.pi / 64), name="rim")
    assert given.measure == pytest.approx(math.pi, rel=1e-9)
    heavy = np.where(angle < math.pi, 3.0, 1.0) * math.pi / 64
    uneven = PointCloud(on, on, weights=heavy, name="rim")
    points, _ = uneven.sample_part(uneven.parts("rim")[0], 2000, drawer("sobol"))
    assert (points[:, 1] > 1e-9).mean() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: PointCloud(p[:5], p[:5]), "give 16 or more"),
        (lambda p: PointCloud(p, p[:5]), "20 points have 5 normals"),
        (lambda p: PointCloud(p, 0 * p), "normal 0 is 0"),
        (lambda p: PointCloud(p, -p), "must point outwards"),
        (lambda p: PointCloud(p, p, weights=[1.0]), "weights must be 20 numbers above 0"),
        (lambda p: PointCloud(np.ones((20, 4)), np.ones((20, 4))), "in 2 or 3 dimensions"),
        (lambda p: PointCloud(p, p).approximate_distance(), "has no formula"),
    ],
)
def test_what_is_no_cloud(make, words):
    angle = np.linspace(0.0, 2 * math.pi, 20, endpoint=False)
    with pytest.raises(ProblemError, match=words):
        make(np.stack([np.cos(angle), np.sin(angle)], axis=1))


# --- shapely ----------------------------------------------------------------------------------


def test_shapes_of_shapely():
    import shapely

    square = shapely.Point(0.0, 0.0).buffer(1.0, quad_segs=64) - shapely.box(-0.2, -0.3, 0.2, 0.3)
    two = shapely.union(square, shapely.box(2.0, 0.0, 3.0, 1.0))
    for shape in (square, two):
        polygon = Polygon(shape)
        assert polygon.measure == pytest.approx(shape.area)
        assert polygon.part_measure(polygon.all_parts[0]) == pytest.approx(shape.length)
        points = np.random.default_rng(0).uniform(-1.5, 3.5, (1000, 2))
        places = shapely.points(points)
        assert (polygon.inside(points) == shapely.contains(shape, places)).all()
        away = shapely.distance(shape.boundary, places)
        np.testing.assert_allclose(np.abs(polygon.distance(points)), away, atol=1e-12)
        assert shapely.contains(
            shape.buffer(1e-9), shapely.points(polygon.sample(500, drawer()))
        ).all()
    with pytest.raises(ProblemError, match="shapely's LineString has no area"):
        Polygon(shapely.LineString([(0, 0), (1, 1)]))
    with pytest.raises(ProblemError, match="has no area"):
        Polygon(shapely.Polygon())
