/**
 * Stands in `running` for whoever outside will report the end of an execution that its worker has deferred. No worker may
 * be announced under it.
 */
export const outsideWorkerId = '00000000-0000-0000-0000-000000000000'
