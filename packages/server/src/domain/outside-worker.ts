/**
 * The worker id of deferred executions, whose outcome an external system will report. No worker may
 * register under it.
 */
export const outsideWorkerId = '00000000-0000-0000-0000-000000000000'
