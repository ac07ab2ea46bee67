"""A fault campaign on real nodes: what runs (work.py), what befalls it and when (plan.py, wholly made by its seed), who does that to the
nodes (nemesis.py and the files beside it), and afterwards who judges (verdict.py) and tells (report.py, timeline.py). play.py has it all."""
