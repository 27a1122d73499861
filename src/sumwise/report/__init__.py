"""Reports: one self-contained HTML page about a comparison of models, or about one model."""

from sumwise.report.comparison import report_comparison
from sumwise.report.contenders import Comparison, Contender
from sumwise.report.document import Report
from sumwise.report.model import report_model

__all__ = ["Comparison", "Contender", "Report", "report_comparison", "report_model"]
