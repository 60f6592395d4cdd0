# The public names. A star takes what the stub of a package lists in __all__.

from . import digits as digits
from . import displays as displays
from . import inspection as inspection
from . import invariances as invariances
from . import io as io
from . import kernel_methods as kernel_methods
from . import kernels as kernels
from . import large_scale as large_scale
from . import model_selection as model_selection
from . import problems as problems
from . import solvers as solvers
from . import svm as svm
from .data.table_encoder import TableEncoder as TableEncoder
from .inspection import *
from .io import DataFileError as DataFileError
from .io import ModelFileError as ModelFileError
from .io import load as load
from .io import read_batches as read_batches
from .io import read_data as read_data
from .io import save as save
from .kernel_methods import *
from .kernels import validate_gram as validate_gram
from .large_scale import *
from .model_selection import *
from .problems.scalings import convert_regularization as convert_regularization
from .problems.separability import InseparabilityProof as InseparabilityProof
from .problems.separability import InseparableError as InseparableError
from .problems.separability import Separability as Separability
from .problems.separability import separability as separability
from .runtime.history import History as History
from .runtime.interrupts import FitInterrupted as FitInterrupted
from .runtime.interrupts import interrupts as interrupts
from .runtime.interrupts import set_interrupts as set_interrupts
from .svm import *
from .svm.kernel.forecast import LongFitWarning as LongFitWarning
from .svm.multiple_kernel import KernelWeightsReport as KernelWeightsReport
from .svm.patching import patch_sklearn as patch_sklearn
from .svm.patching import sklearn_is_patched as sklearn_is_patched
from .svm.patching import unpatch_sklearn as unpatch_sklearn
from .svm.perceptron import PerceptronReport as PerceptronReport
from .svm.report import FitReport as FitReport
from .svm.streaming.report import StreamReport as StreamReport

__version__: str
