/** The solvers that can be watched, as POST /api/trace names them. */

/** @typedef {{name: string, title: string, about: string, hard: boolean}} Solver  `hard`: it takes C = inf */

/** @type {Solver[]} */
export const SOLVERS = [
  { name: "smo", title: "SMO", about: "two α", hard: true },
  { name: "coordinate_descent", title: "Coordinate descent", about: "one α", hard: true },
  { name: "active_set", title: "Active set", about: "all free α", hard: true },
  { name: "barrier", title: "Barrier", about: "inside the bounds", hard: true },
  { name: "newton", title: "Newton", about: "squared slack", hard: false },
  { name: "subgradient", title: "Sub-gradient", about: "all points", hard: false },
  { name: "pegasos", title: "Pegasos", about: "one point", hard: false },
  { name: "perceptron", title: "Perceptron", about: "every mistake", hard: true },
];

/** @param {string} name @returns {Solver|undefined} */
export const solverOf = (name) => SOLVERS.find((solver) => solver.name === name);
