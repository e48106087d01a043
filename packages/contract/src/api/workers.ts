import { Type } from 'typebox'
import { Load, Pool, PoolScaling } from '../schemas/pool.ts'
import { closed, Described, Name, Uuid, Word } from '../schemas/scalars.ts'
import {
  LeaseAnswer,
  LeaseInput,
  RegistrationAnswer,
  ReportAnswer,
  ReportInput,
  Worker,
  WorkerDetail,
  WorkerRegistration,
} from '../schemas/worker.ts'
import { workerStates } from '../words.ts'
import { ofPool, ofWorker } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const workerParams = Type.Object({ workerId: Described(Uuid, 'The id of the worker.') }, closed)
const poolParams = Type.Object({ name: Described(Name, 'The name of the pool.') }, closed)

export const workerOperations = {
  registerWorker: operation({
    method: 'POST',
    path: '/v1/workers',
    bodyLimitBytes: 128 * 1024,
    tag: 'Workers',
    scope: 'work',
    summary: 'Register a worker',
    description:
      'Repeatable: the same `workerId` replaces the earlier registration. Pools that do not exist are created.',
    body: WorkerRegistration,
    answers: { 201: { description: 'Registered', schema: RegistrationAnswer, links: ofWorker } },
    errors: ['POOL_NOT_YOURS', 'POOL_LIMIT_REACHED', 'QUOTA_EXCEEDED', 'WORKER_UNKNOWN'],
  }),
  listWorkers: operation({
    method: 'GET',
    path: '/v1/workers',
    heavy: true,
    tag: 'Workers',
    scope: 'jobs:read',
    summary: 'List workers',
    query: Type.Object(
      {
        ...pageFields,
        pool: Type.Optional(Described(Name, 'Only those that serve this pool.')),
        state: Type.Optional(Word(workerStates, { description: 'Only in this state.' })),
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(Worker, 'WorkerPage') } },
    errors: [],
  }),
  getWorker: operation({
    method: 'GET',
    path: '/v1/workers/:workerId',
    heavy: true,
    tag: 'Workers',
    scope: 'jobs:read',
    summary: 'Read a worker and what it holds',
    description: '`running` counts executions of all tenants; `held` lists those of the tenant, at most 100.',
    params: workerParams,
    answers: { 200: { description: 'The worker', schema: WorkerDetail, links: ofWorker } },
    errors: ['WORKER_UNKNOWN'],
  }),
  leaseExecutions: operation({
    method: 'POST',
    path: '/v1/workers/:workerId/lease',
    tag: 'Workers',
    scope: 'work',
    summary: 'Wait for executions',
    description:
      'A long poll: answers as soon as there is something, at the latest after `waitMs`; an empty answer is normal. A newer ' +
      'request of the same worker for the same pool ends the older one.',
    params: workerParams,
    headers: Type.Object({
      prefer: Type.Optional(
        Type.String({
          maxLength: 200,
          description: '`return=minimal`: members of executions that have their defaults are left out.',
          examples: ['return=minimal'],
        }),
      ),
    }),
    body: LeaseInput,
    answers: { 200: { description: 'Executions to run and executions to stop', schema: LeaseAnswer } },
    errors: ['WORKER_UNKNOWN', 'TOO_MANY_WAITING'],
  }),
  reportExecutions: operation({
    method: 'POST',
    path: '/v1/workers/:workerId/report',
    bodyLimitBytes: 16 * 1024 * 1024,
    opaque: ['/outcomes/*/result', '/outcomes/*/progress', '/progress/*/progress'],
    tag: 'Workers',
    scope: 'work',
    summary: 'Report outcomes; also the heartbeat',
    description:
      'With `held` (everything the worker holds) it is a heartbeat. One that says nothing at all is a sign of life: what is ' +
      'held is not compared. A repeated report gets the first answer again.',
    params: workerParams,
    body: ReportInput,
    answers: { 200: { description: 'What became of it', schema: ReportAnswer } },
    errors: ['WORKER_UNKNOWN'],
  }),
  deregisterWorker: operation({
    method: 'DELETE',
    path: '/v1/workers/:workerId',
    tag: 'Workers',
    scope: 'work',
    summary: 'Leave',
    description: 'What the worker still holds is handed back.',
    params: workerParams,
    answers: { 204: { description: 'Gone' } },
    errors: ['WORKER_UNKNOWN'],
  }),
  listPools: operation({
    method: 'GET',
    path: '/v1/pools',
    heavy: true,
    tag: 'Pools',
    scope: 'jobs:read',
    summary: 'List pools',
    query: Type.Object(pageFields, closed),
    answers: { 200: { description: 'A page', schema: Page(Pool, 'PoolPage') } },
    errors: [],
  }),
  createPool: operation({
    method: 'POST',
    path: '/v1/pools',
    tag: 'Pools',
    scope: 'admin',
    summary: 'Create a pool',
    body: Type.Object(
      { name: Described(Name, 'The name of the pool.') },
      { ...closed, title: 'PoolInput', description: 'A new pool.' },
    ),
    answers: {
      201: { description: 'Created', schema: Pool, links: ofPool },
      200: { description: 'It was there already', schema: Pool, links: ofPool },
    },
    errors: ['POOL_NOT_YOURS', 'POOL_LIMIT_REACHED', 'TENANT_UNDECLARED'],
  }),
  deletePool: operation({
    method: 'DELETE',
    path: '/v1/pools/:name',
    heavy: true,
    tag: 'Pools',
    scope: 'admin',
    summary: 'Remove a pool that nothing uses',
    params: poolParams,
    answers: { 204: { description: 'Removed' } },
    errors: ['POOL_NOT_FOUND', 'POOL_NOT_YOURS', 'STATE_CONFLICT'],
  }),
  pausePool: operation({
    method: 'POST',
    path: '/v1/pools/:name/pause',
    tag: 'Pools',
    scope: 'admin',
    summary: 'Lease nothing from a pool',
    params: poolParams,
    answers: { 200: { description: 'As it is now', schema: Pool, links: ofPool } },
    errors: ['POOL_NOT_FOUND', 'POOL_NOT_YOURS'],
  }),
  resumePool: operation({
    method: 'POST',
    path: '/v1/pools/:name/resume',
    tag: 'Pools',
    scope: 'admin',
    summary: 'Lease from a pool again',
    params: poolParams,
    answers: { 200: { description: 'As it is now', schema: Pool, links: ofPool } },
    errors: ['POOL_NOT_FOUND', 'POOL_NOT_YOURS'],
  }),
  scalePool: operation({
    method: 'GET',
    path: '/v1/pools/:name/scaling',
    tag: 'Pools',
    scope: 'jobs:read',
    summary: 'What an autoscaler needs to know',
    params: poolParams,
    answers: { 200: { description: 'Figures', schema: PoolScaling } },
    errors: ['POOL_NOT_FOUND'],
  }),
  getLoad: operation({
    method: 'GET',
    path: '/v1/load',
    heavy: true,
    tag: 'Pools',
    scope: 'jobs:read',
    summary: 'What waits and runs, by pool and lane',
    answers: { 200: { description: 'Figures', schema: Load } },
    errors: [],
  }),
}
