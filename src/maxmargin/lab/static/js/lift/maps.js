/** The maps of POST /api/lift: name, formula, whether gamma matters, and which example and eye suit it. */

/** @typedef {{name: string, title: string, formula: {sigma: string, gamma: string}, gamma: boolean, eye: [number, number]}} LiftMap */

const both = (formula) => ({ sigma: formula, gamma: formula });

/** @type {LiftMap[]} */
export const MAPS = [
  { name: "radial", title: "Paraboloid", formula: both("(x, y) → (x, y, x² + y²)"), gamma: false, eye: [0.6, 0.36] },
  { name: "bump", title: "Hill", formula: { gamma: "(x, y) → (x, y, exp(−γ r²))", sigma: "(x, y) → (x, y, exp(−r² / 2σ²))" }, gamma: true, eye: [0.6, 0.36] },
  { name: "quadratic", title: "Quadratic", formula: both("(x, y) → (x², √2 x y, y²)"), gamma: false, eye: [-0.7, 0.4] },
  { name: "rbf_surface", title: "Gaussian surface", formula: { gamma: "height f(x, y) = Σ αᵢ yᵢ exp(−γ |x − xᵢ|²) + b", sigma: "height f(x, y) = Σ αᵢ yᵢ exp(−|x − xᵢ|² / 2σ²) + b" }, gamma: true, eye: [0.5, 0.6] },
  { name: "polar", title: "Polar coordinates", formula: both("(x, y) → (r, θ)"), gamma: false, eye: [0, 1.35] },
];

/** Words of an answer, which have gamma, with the width that the page shows. @param {string} text @param {"sigma"|"gamma"} width */
export const inWidth = (text, width) => (width === "sigma" ? text.replace("exp(−γ r²)", "exp(−r² / 2σ²)") : text);

/** Which map an example is meant for. */
export const SUITED = { circles: "radial", xor: "quadratic", moons: "rbf_surface", spirals: "rbf_surface", gaussian: "rbf_surface" };

/** @param {string} name @returns {LiftMap} */
export const mapOf = (name) => MAPS.find((map) => map.name === name) ?? MAPS[0];
