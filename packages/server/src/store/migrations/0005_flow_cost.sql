-- What the last reservation of a flow cost: in `on conflict` a statement knows of a row only what it would have inserted.
alter table carillon.flows add column cost bigint not null default 0;
