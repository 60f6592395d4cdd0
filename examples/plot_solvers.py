"""Six solvers, one optimum: sub-gradient steps, Pegasos, coordinate descent, SMO and interior points
==================================================================================================

All of them minimise the same objective, 1/2 |w|^2 + C sum of slacks, on the same 600 points. Above: how far the
objective is from the optimum at most, over iterations and over time. Below: the duality gap that each solver can
certify. Sub-gradient steps are cheap and make fast progress at first, but do not reach high accuracy, even with the
step sizes of Pegasos. Coordinate descent and SMO work on the dual. The barrier method solves a linear system in every
iteration: about ten expensive iterations reach an accuracy that hundreds of cheap ones do not. The pictures on the
right show the time.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from maxmargin import compare_solvers
from maxmargin.displays import HistoryDisplay

plt.rcParams["font.size"] = 13


SOLVERS = ("subgradient", "stochastic_subgradient", "pegasos", "coordinate_descent", "smo", "barrier")


# %%
# One problem; ``compare_solvers`` fits it with each solver and keeps their histories.

X, y = make_classification(600, 20, n_informative=8, flip_y=0.05, random_state=0)
X = StandardScaler().fit_transform(X)
found = compare_solvers(X, y, C=1.0, solvers=SOLVERS, tol=1e-6, max_iter=400)
# %%
# Distance from the optimum and duality gap, over iterations and over time.

figure = plt.figure(figsize=(13.5, 9.6), layout="constrained")
axes = figure.subplots(2, 2, sharex="col", sharey="row")
for row, column in zip(axes, ("excess", "relative_gap"), strict=True):
    for ax, x in zip(row, ("iteration", "seconds"), strict=True):
        HistoryDisplay.from_histories(found.histories).plot(ax, x=x, y=column, xscale="log", legend=False)
        ax.label_outer()
axes[0, 0].set_ylim(1e-4, 1e4)
axes[1, 0].set_ylim(1e-7, 3)
axes[0, 0].set_title("over iterations (epochs)")
axes[0, 1].set_title("over time")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)

plt.show()
