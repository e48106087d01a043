/**
 * The file that says which jobs and graphs there should be. All of it is checked before any request to a node, and everything that
 * is wrong is reported at once, each with its line.
 */
import {
  type DagInput,
  type ErrorDetail,
  limits,
  quotaNames,
  quotaRange,
  type Range,
  ranges,
  unknownOption,
  type WireJobInput,
} from '@carillon/contract'
import { type Document, isMap, isNode } from 'yaml'
import { UsageError } from '../failure.ts'
import { parseYaml } from '../files.ts'
import type { DeclaredLimit } from './limit-plan.ts'
import type { DeclaredTenant } from './tenant-plan.ts'

export type DeclaredJob = WireJobInput & { key: string; managedBy: string }
export type DeclaredDag = DagInput & { key: string; managedBy: string }

export interface Manifest {
  managedBy: string
  tenants: DeclaredTenant[]
  pools: string[]
  limits: DeclaredLimit[]
  jobs: DeclaredJob[]
  dags: DeclaredDag[]
  /** Where in the file a JSON pointer leads: `carillon.yaml:12:5`. */
  locate(pointer: string): string
}

const fields = ['managedBy', 'tenants', 'pools', 'limits', 'jobs', 'dags']
const tenantFields = ['name', 'weight', 'description', 'jitterSec', ...quotaNames]

type Check = (input: unknown) => readonly ErrorDetail[]
export interface Checks {
  job: Check
  dag: Check
  limit: Check
}

/** `problems`: what is wrong with it by itself. Only without any is it a manifest that may be applied. */
export function parseManifest(
  source: string,
  path: string,
  checks: Checks,
): { manifest: Manifest; problems: ErrorDetail[] } {
  const { value, document, lines } = parseYaml(source, path)
  const locate = (pointer: string) => {
    const { line, col } = lines.linePos(offsetOf(document, pointer))
    return `${path}:${line}:${col}`
  }
  const problems = check(value, checks)
  const { managedBy, tenants, pools, limits, jobs, dags } = (isObject(value) ? value : {}) as unknown as Given
  const manifest = {
    managedBy,
    tenants: Array.isArray(tenants) ? tenants : [],
    pools: (Array.isArray(pools) ? pools : []).map((pool) => (isObject(pool) ? pool.name : pool) as string),
    limits: Array.isArray(limits) ? limits : [],
    jobs: managed(jobs, managedBy) as DeclaredJob[],
    dags: managed(dags, managedBy) as DeclaredDag[],
    locate,
  }
  return { manifest, problems }
}

function managed(items: unknown, managedBy: string): unknown[] {
  return (Array.isArray(items) ? items : []).map((item) => (isObject(item) ? { ...item, managedBy } : item))
}

/** What is wrong, each with its line; what two checks found alike is said once. */
export function refuseIfWrong(manifest: Manifest, problems: readonly ErrorDetail[]): void {
  if (problems.length === 0) return
  const places = new Map<string, ErrorDetail>()
  for (const problem of problems) {
    const place = problem.pointer ?? problem.message
    if (!places.has(place)) places.set(place, located(problem, manifest.locate))
  }
  throw new UsageError([...places.values()])
}

/** The file as it is written, if it is right. */
interface Given {
  managedBy: string
  tenants?: DeclaredTenant[] | null
  pools?: (string | { name: string })[] | null
  limits?: DeclaredLimit[] | null
  jobs?: WireJobInput[] | null
  dags?: DagInput[] | null
}

function located({ pointer = '', message, hint }: ErrorDetail, locate: Manifest['locate']): ErrorDetail {
  return { message: `${locate(pointer)} ${pointer || 'the file'} ${message}`, hint }
}

function check(value: unknown, checks: Checks): ErrorDetail[] {
  if (!isObject(value)) return [{ message: 'holds no jobs', hint: 'It begins with managedBy: and jobs:' }]
  const problems: ErrorDetail[] = []
  for (const field of Object.keys(value)) {
    if (!fields.includes(field)) problems.push(unknownOption(field, fields))
  }
  const { managedBy, tenants = [], pools = [], limits = [], jobs = [], dags = [] } = value
  if (!isName(managedBy))
    problems.push({ pointer: '/managedBy', message: 'must be a name', hint: 'It says which jobs belong to this file' })
  checkAll(problems, '/tenants', tenants, checkTenant, 'name')
  for (const [i, pool] of listOf(problems, '/pools', pools).entries()) {
    const name = isObject(pool) ? pool.name : pool
    if (!isName(name) || (isObject(pool) && Object.keys(pool).length > 1))
      problems.push({ pointer: `/pools/${i}`, message: 'must be a name, or an object with a name only' })
  }
  checkAll(problems, '/limits', limits, (limit) => checkDeclaredLimit(limit, checks.limit), 'name')
  checkAll(problems, '/jobs', jobs, (job) => checkDeclaredJob(job, checks.job))
  checkAll(problems, '/dags', dags, (dag) => checkDeclaredDag(dag, checks.dag))
  return problems
}

function checkAll(problems: ErrorDetail[], root: string, items: unknown, checkItem: Check, named = 'key'): void {
  const seen = new Map<string, number>()
  for (const [i, item] of listOf(problems, root, items).entries()) {
    const pointer = `${root}/${i}`
    problems.push(...checkItem(item).map((detail) => ({ ...detail, pointer: pointer + (detail.pointer ?? '') })))
    const key = isObject(item) ? item[named] : undefined
    if (typeof key !== 'string') continue
    if (seen.has(key))
      problems.push({
        pointer: `${pointer}/${named}`,
        message: `${key} is also the ${named} of ${root}/${seen.get(key)}`,
      })
    else seen.set(key, i)
  }
}

function checkOwner({ key, managedBy }: Record<string, unknown>, what: string): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  if (key === undefined)
    problems.push({ pointer: '/key', message: 'key is required', hint: `It identifies this ${what}` })
  if (managedBy !== undefined)
    problems.push({
      pointer: '/managedBy',
      message: 'managedBy is said once, at the top of the file',
      hint: 'Leave it out here',
    })
  return problems
}

function checkTenant(tenant: unknown): ErrorDetail[] {
  if (!isObject(tenant)) return [{ message: 'must be a tenant', hint: 'Such as {name: acme, weight: 3}' }]
  const problems = Object.keys(tenant)
    .filter((field) => !tenantFields.includes(field))
    .map((field) => unknownOption(field, tenantFields))
  const { name, weight = 1, description = null, jitterSec = null } = tenant
  if (!isName(name)) problems.push({ pointer: '/name', message: 'must be a name' })
  problems.push(...checkWhole('/weight', weight, ranges.tenantWeight))
  for (const quota of quotaNames) problems.push(...checkWhole(`/${quota}`, tenant[quota] ?? 1, quotaRange(quota)))
  if (description !== null && (typeof description !== 'string' || description === ''))
    problems.push({ pointer: '/description', message: 'must be a text' })
  if (jitterSec !== null) problems.push(...checkWhole('/jitterSec', jitterSec, ranges.tenantJitterSec))
  return problems
}

function checkDeclaredLimit(limit: unknown, checkLimit: Check): readonly ErrorDetail[] {
  if (!isObject(limit)) return [{ message: 'must be a limit', hint: 'Such as {name: acct, concurrency: 5}' }]
  return checkLimit(limit)
}

function checkWhole(pointer: string, value: unknown, { min, max }: Range): ErrorDetail[] {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return []
  return [{ pointer, message: `must be a whole number from ${min} to ${max}` }]
}

function checkDeclaredDag(dag: unknown, checkDag: Check): ErrorDetail[] {
  if (!isObject(dag)) return [{ message: 'must be a graph', hint: 'Such as {key: …, steps: […]}' }]
  return [...checkOwner(dag, 'graph'), ...checkDag(dag)]
}

function checkDeclaredJob(job: unknown, checkJob: Check): ErrorDetail[] {
  if (!isObject(job))
    return [{ message: 'must be a job', hint: 'Such as {key: …, type: CRON, schedule: …, target: …}' }]
  const problems = checkOwner(job, 'job')
  if (job.type === 'ONE_SHOT' || job.type === 'DELAYED') {
    problems.push({
      pointer: '/type',
      message: `${job.type} runs once, and applying the file again would run it again`,
      hint: 'Declare CRON, INTERVAL and AFTER; for the others: carillon jobs create',
    })
  }
  return [...problems, ...checkJob(job)]
}

function listOf(problems: ErrorDetail[], pointer: string, value: unknown): unknown[] {
  if (value === null) return []
  if (Array.isArray(value)) return value
  problems.push({ pointer, message: 'must be a list' })
  return []
}

/** Where in the source a JSON pointer leads, or as near as there is something. */
function offsetOf(document: Document, pointer: string): number {
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === name)
      : null
    if (pair && isNode(pair.key) && pair.key.range) return pair.key.range[0]
    const found = document.getIn(path.slice(0, length), true)
    if (isNode(found) && found.range) return found.range[0]
  }
  return 0
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= limits.nameLength
}
