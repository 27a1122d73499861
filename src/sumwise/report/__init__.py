"""Reports: one self-contained HTML page about a comparison of models, or about one model."""

from sumwise.report.comparison import Comparison, Contender, report_comparison
from sumwise.report.document import Report

__all__ = ["Comparison", "Contender", "Report", "report_comparison"]
