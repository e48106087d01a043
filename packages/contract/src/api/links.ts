/** Where to go from an answer: which operations take the id that it holds. */
export interface Link {
  operationId: string
  /** From a parameter of that operation to where its value is found in the answer. */
  parameters: Record<string, string>
  description?: string
}
export type Links = Record<string, Link>

/** From an answer that is a job. */
export const ofJob = linksTo('jobId', [
  'getJob',
  'replaceJob',
  'patchJob',
  'deleteJob',
  'pauseJob',
  'resumeJob',
  'triggerJob',
  'backfillJob',
  'listJobExecutions',
  'nextFires',
])

/** From an answer that is an execution. */
export const ofExecution = linksTo('executionId', [
  'getExecution',
  'cancelExecution',
  'retryExecution',
  'getExecutionLogs',
  'explainExecution',
])

export const ofDag = linksTo('dagId', ['getDag', 'replaceDag', 'deleteDag', 'runDag'])
export const ofDagRun = linksTo('runId', ['getDagRun', 'cancelDagRun', 'pauseDagRun', 'resumeDagRun', 'retryDagRun'])
export const ofOperation = linksTo('operationId', ['getOperation', 'cancelOperation'])
export const ofWorker = linksTo('workerId', ['getWorker', 'leaseExecutions', 'reportExecutions', 'deregisterWorker'])
export const ofPool = linksTo('name', ['pausePool', 'resumePool', 'scalePool'])

export const ofLimit = linksTo('limit', ['getLimit', 'putLimit', 'deleteLimit'], 'name')
export const ofTenant = linksTo('tenant', ['getTenant', 'putTenant', 'deleteTenant', 'getTenantUsage'], 'name')

/** `field`: where in the answer the id is. */
function linksTo(id: string, operationIds: string[], field = id): Links {
  const parameters = { [id]: `$response.body#/${field}` }
  return Object.fromEntries(operationIds.map((operationId) => [operationId, { operationId, parameters }]))
}
