/** The maps of POST /api/lift: name, formula, whether gamma matters, and which example and eye suit it. */

/** @typedef {{name: string, title: string, formula: string, gamma: boolean, eye: [number, number]}} LiftMap */

/** @type {LiftMap[]} */
export const MAPS = [
  { name: "radial", title: "Paraboloid", formula: "(x, y) → (x, y, x² + y²)", gamma: false, eye: [0.6, 0.36] },
  { name: "bump", title: "Hill", formula: "(x, y) → (x, y, exp(−γ r²))", gamma: true, eye: [0.6, 0.36] },
  { name: "quadratic", title: "Quadratic", formula: "(x, y) → (x², √2 x y, y²)", gamma: false, eye: [-0.7, 0.4] },
  { name: "rbf_surface", title: "Gaussian surface", formula: "height f(x, y) = Σ αᵢ yᵢ exp(−γ |x − xᵢ|²) + b", gamma: true, eye: [0.5, 0.6] },
  { name: "polar", title: "Polar coordinates", formula: "(x, y) → (r, θ)", gamma: false, eye: [0, 1.35] },
];

/** Which map an example is meant for. */
export const SUITED = { circles: "radial", xor: "quadratic", moons: "rbf_surface", spirals: "rbf_surface", gaussian: "rbf_surface" };

/** @param {string} name @returns {LiftMap} */
export const mapOf = (name) => MAPS.find((map) => map.name === name) ?? MAPS[0];
