/**
 * Graphs: created, read, listed, replaced, deleted. A change is computed from what was read and written only if that is still the
 * version; if another came between, it is computed anew. Runs have the steps they were created with, so old versions need not be kept.
 */
import { isDeepStrictEqual } from 'node:util'
import { CarillonError, type DagInput } from '@carillon/contract'
import { isId, newId } from '../domain/identity.ts'
import { cursorOf, idOfCursor } from '../executions/cursor.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import {
  changeDag,
  createDag,
  type DagDefinition,
  type DagRecord,
  readDag,
  readDagByKey,
} from '../store/dags/definitions.ts'
import { type DagFilter, listDags } from '../store/dags/list.ts'
import type { Database } from '../store/database.ts'
import { claimAnswer, entryOf, type Once } from '../store/idempotency/answers.ts'
import { aboveAllIds } from '../store/jobs/list.ts'
import { defineSteps } from './define-steps.ts'
import { sameSteps } from './same-steps.ts'
import { parseSteps, stepsText } from './steps-text.ts'

export interface DagsOptions {
  database: Database
  clock: Clock
  jobs: Pick<Jobs, 'require'>
}

export interface PutDag {
  dag: DagRecord
  what: 'CREATED' | 'UPDATED' | 'UNCHANGED'
}

/** Who changes a graph, and from which version on: another one is refused. */
export interface DagChanger {
  actor: string
  version?: number
  once?: Once<PutDag>
}

/** A graph as a caller names it: by its id or its key. */
export interface NamedDag {
  tenant: string
  dag: string
}

const maxTries = 50

export class Dags {
  readonly #options: DagsOptions

  constructor(options: DagsOptions) {
    this.#options = options
  }

  /** Creates a graph. With a `key` that exists, the same definition changes nothing and another one makes a new version. */
  async put(tenant: string, input: DagInput, by: DagChanger): Promise<PutDag> {
    const { database, clock } = this.#options
    const key = input.key ?? null
    const definition = await this.#define(tenant, input, key)
    for (let tries = 0; tries < maxTries; tries++) {
      const existing = key === null ? null : await readDagByKey(database, tenant, key)
      if (existing) {
        const put = await this.#redefine(existing, definition, by)
        if (put) return put
        continue
      }
      const at = Math.floor(clock.now())
      const born = { dagId: newId(at), version: 1, tenant, key, state: 'ACTIVE', createdAt: at, updatedAt: at } as const
      const made: PutDag = { dag: { ...born, ...definition }, what: 'CREATED' }
      const entry = await entryOf(by.once, made)
      // If not, a concurrent request with the same key was faster.
      if (await createDag(database, made.dag, { actor: by.actor, entry })) return made
    }
    throw contention()
  }

  /** Also one that is DELETED, by its id. What has the form of an id is one first. */
  async read({ tenant, dag: named }: NamedDag): Promise<DagRecord> {
    const dag = await this.#find(tenant, named, { deleted: true })
    if (dag) return dag
    throw dagNotFound(named)
  }

  /** One that takes runs and changes. */
  async readActive({ tenant, dag: named }: NamedDag): Promise<DagRecord> {
    const dag = await this.#find(tenant, named, { deleted: false })
    if (dag) return dag
    throw dagNotFound(named)
  }

  /** For filters, which find nothing where there is no such graph. Null: no graph has this key. */
  async filteredId({ tenant, dag }: NamedDag): Promise<string | null> {
    if (isId(dag)) return dag.toLowerCase()
    return (await readDagByKey(this.#options.database, tenant, dag))?.dagId ?? null
  }

  async list(
    tenant: string,
    filter: DagFilter,
    { limit, cursor }: { limit: number; cursor?: string },
  ): Promise<{ records: DagRecord[]; nextCursor: string | null }> {
    const before = cursor === undefined ? aboveAllIds : idOfCursor(cursor)
    const { dags, next } = await listDags(this.#options.database, { tenant, before, limit }, filter)
    return { records: dags, nextCursor: next === null ? null : cursorOf(next) }
  }

  /** Gives a graph another definition. Its key stays. */
  async replace(named: NamedDag, input: DagInput, by: DagChanger): Promise<PutDag> {
    const { tenant } = named
    for (let tries = 0; tries < maxTries; tries++) {
      const dag = await this.#readVersion(named, by.version)
      if (input.key !== undefined && input.key !== dag.key) throw otherKey(dag)
      const put = await this.#redefine(dag, await this.#define(tenant, input, dag.key), by)
      if (put) return put
    }
    throw contention()
  }

  /** It takes no more runs; those it has go on. */
  async remove(named: NamedDag, by: Omit<DagChanger, 'once'>): Promise<void> {
    for (let tries = 0; tries < maxTries; tries++) {
      const dag = await this.#readVersion(named, by.version)
      const gone: DagRecord = { ...dag, state: 'DELETED' }
      if (await changeDag(this.#options.database, dag, gone, { actor: by.actor, entry: null })) return
    }
    throw contention()
  }

  async #define(tenant: string, input: DagInput, key: string | null): Promise<DagDefinition> {
    const { clock, jobs } = this.#options
    const { steps, labels = {}, managedBy = null, deadlineSec = null } = input
    await defineSteps(steps, { tenant, labels, now: clock.now(), jobs })
    return {
      name: input.name ?? key ?? steps[0]!.name,
      managedBy,
      labels: Object.keys(labels).length > 0 ? labels : null,
      deadlineSec,
      steps: stepsText(steps),
    }
  }

  /** Null: it was changed or deleted meanwhile. */
  async #redefine(dag: DagRecord, definition: DagDefinition, by: DagChanger): Promise<PutDag | null> {
    const { database, clock } = this.#options
    if (sameDefinition(dag, definition)) {
      const same: PutDag = { dag, what: 'UNCHANGED' }
      const entry = await entryOf(by.once, same)
      if (entry) await claimAnswer(database, entry)
      return same
    }
    const changed = { ...dag, ...definition, version: dag.version + 1, updatedAt: Math.floor(clock.now()) }
    const put: PutDag = { dag: changed, what: 'UPDATED' }
    const entry = await entryOf(by.once, put)
    return (await changeDag(database, dag, changed, { actor: by.actor, entry })) ? put : null
  }

  async #readVersion(named: NamedDag, version: number | undefined): Promise<DagRecord> {
    const dag = await this.readActive(named)
    if (version === undefined || dag.version === version) return dag
    throw new CarillonError('VERSION_MISMATCH', {
      message: `the graph is at version ${dag.version}, not ${version}`,
      hint: 'Read it again and repeat the change on what it is now',
    })
  }

  async #find(tenant: string, named: string, { deleted }: { deleted: boolean }): Promise<DagRecord | null> {
    const { database } = this.#options
    const byId = isId(named) ? await readDag(database, tenant, named) : null
    if (byId && (deleted || byId.state !== 'DELETED')) return byId
    return readDagByKey(database, tenant, named)
  }
}

function sameDefinition(a: DagDefinition, b: DagDefinition): boolean {
  const plain = ({ name, managedBy, labels, deadlineSec }: DagDefinition) => ({ name, managedBy, labels, deadlineSec })
  if (!isDeepStrictEqual(plain(a), plain(b))) return false
  return a.steps === b.steps || sameSteps(parseSteps(a.steps), parseSteps(b.steps))
}

export function dagNotFound(dag: string): CarillonError {
  return new CarillonError('DAG_NOT_FOUND', {
    message: `there is no graph ${dag}`,
    hint: 'Check its id or key and the tenant; it may have been deleted',
  })
}

function otherKey({ key }: DagRecord): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/key',
    message: key === null ? 'key cannot be given to a graph that has none' : `key is ${key}, and stays`,
    hint: 'Leave it out, or create another graph',
  })
}

function contention(): CarillonError {
  return new CarillonError('STATE_CONFLICT', { message: 'the graph keeps changing', hint: 'Try again' })
}
