-- Whether an execution was set aside on purpose: it may then be open and stand in no queue. The one place where verify learns of it.
create or replace function carillon.set_aside(p_id uuid) returns boolean
  language sql stable parallel safe
  return false;
