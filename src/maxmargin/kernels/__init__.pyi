from .algebra import Power as Power
from .algebra import Product as Product
from .algebra import Scaled as Scaled
from .algebra import Sum as Sum
from .bandwidth import resolve_gamma as resolve_gamma
from .base import Kernel as Kernel
from .columns import Columns as Columns
from .distance import *
from .dot import *
from .feature_space import Centered as Centered
from .feature_space import Normalized as Normalized
from .histogram import *
from .objects.sets import *
from .objects.strings import *
from .objects.subsequence import *
from .objects.weighted_degree import *
from .other import Callable as Callable
from .other import Precomputed as Precomputed
from .other import as_kernel as as_kernel
from .registry import KERNELS as KERNELS
from .validity import GramValidity as GramValidity
from .validity import validate_gram as validate_gram
