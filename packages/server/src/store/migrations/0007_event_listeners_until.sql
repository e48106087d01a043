-- Whether anybody listens at all is asked by every FIRE, REPORT and SUBMIT. With an index the planner has a way that their
-- settings allow; without one it scans the table at a cost of 1e10, which hides the costs of everything else in the
-- statement and has it JIT-compiled where that is on.
create index event_listeners_until on carillon.event_listeners (until);
