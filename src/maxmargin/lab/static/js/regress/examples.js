/** Points to begin with: each shows one thing about fitting curves, and comes with the model that shows it. */

/** Numbers between -1 and 1 that look random and are always the same. */
function noise(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** n points x in [-1, 1], equally spaced, with y = f(x) + some noise. */
function sampled(n, f, { amount = 0, seed = 1 } = {}) {
  const next = noise(seed);
  return Array.from({ length: n }, (_, k) => {
    const x = -1 + (2 * k) / (n - 1);
    return [Number(x.toFixed(3)), Number((f(x) + (amount / 2) * (next() + next())).toFixed(3))];
  });
}

const sine = (x) => 0.9 * Math.sin(1.5 * Math.PI * x);
const line = (x) => 0.7 * x + 0.1;

export const EXAMPLES = [
  {
    id: "line",
    title: "A line with noise",
    points: sampled(24, line, { amount: 0.4, seed: 5 }),
    settings: { model: "ridge_poly", degree: 1, lambda: 0.01 },
    sentence: "Two coefficients are enough here. A curve that bends more comes nearer to the points, and no nearer to the line they came from.",
  },
  {
    id: "sine",
    title: "A sine with noise",
    points: sampled(30, sine, { amount: 0.3, seed: 11 }),
    settings: { model: "svr", sigma: 0.3, C: 10, epsilon: 0.15 },
    sentence: "Widen the tube with ε: fewer points touch it, and the curve needs fewer support vectors.",
  },
  {
    id: "step",
    title: "A step",
    points: sampled(24, (x) => (x < 0 ? -0.6 : 0.6), { amount: 0.06, seed: 3 }),
    settings: { model: "ridge_poly", degree: 9, lambda: 0.0001 },
    sentence: "Powers of x ripple on both sides of a step. Local bumps do that less: choose Gaussian bumps.",
  },
  {
    id: "outlier",
    title: "An outlier",
    points: sampled(17, line, { amount: 0.08, seed: 8 }).map(([x, y], k) => [x, k === 4 ? 1.2 : y]),
    settings: { model: "svr", sigma: 2, C: 1, epsilon: 0.1 },
    sentence: "Drag the outlier up and down. Beyond the tube its penalty grows only linearly, so it hardly moves the curve; choose ridge regression and it does.",
  },
  {
    id: "few",
    title: "Few points",
    points: [[-0.9, -0.2], [-0.5, 0.5], [-0.1, 0.1], [0.3, -0.6], [0.6, 0.2], [0.9, 0.8]],
    settings: { model: "ridge_poly", degree: 5, lambda: 0 },
    sentence: "Six coefficients pass through six points. Move one of them, and look at the weights: the curve is a blend of all six.",
  },
];
