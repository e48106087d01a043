/**
 * Runs of graphs over HTTP with the SDK's client, the tenants in turn. A graph is a lattice: layers of the same width, in which each
 * step depends on some of the layer before. Each tenant has it defined before the runs begin.
 */
import { createClient } from '@carillon/sdk'
import type { Load } from '../ground/ground.ts'
import { handlerOf, payloadOf } from '../work.ts'

export interface Lattice {
  layers: number
  width: number
  /** On how many of the layer before each step depends. */
  degree: number
}

export interface RunsOptions extends Lattice {
  urls: string[]
  tokens: string[]
  runs: number
  /** Requests at the same time. */
  inFlight: number
  /** A run begins only when no more steps than this are unfinished. It is told how many are done. */
  mostOpen?: number
}

export interface RunsAnswer {
  started: number
}

export default (async (options, { ready, onTold }) => {
  const { urls, tokens, runs, inFlight, mostOpen = Number.POSITIVE_INFINITY } = options
  const clients = tokens.map((token) => createClient({ urls, token }))
  const steps = latticeOf(options)
  const key = `lattice-${options.layers}-${options.width}-${options.degree}`
  let begun = 0
  let done = 0
  let room = Promise.withResolvers<void>()
  onTold((word) => {
    done = word as number
    room.resolve()
    room = Promise.withResolvers()
  })
  const line = async () => {
    while (begun < runs) {
      if (begun * steps.length - done > mostOpen) {
        await room.promise
        continue
      }
      const client = clients[begun++ % clients.length]!
      await client.dags.run(key)
    }
  }
  for (const client of clients.slice(0, runs)) await client.dags.create({ key, steps })
  await ready()
  await Promise.all(Array.from({ length: inFlight }, line))
  await Promise.all(clients.map((client) => client.close()))
  return { started: begun }
}) satisfies Load<RunsOptions, RunsAnswer>

function latticeOf({ layers, width, degree }: Lattice) {
  return Array.from({ length: layers * width }, (_, n) => {
    const layer = Math.floor(n / width)
    const before = (layer - 1) * width
    return {
      name: `s${n}`,
      target: { handler: handlerOf(n) },
      payload: payloadOf(n),
      dependsOn: layer === 0 ? [] : Array.from({ length: degree }, (_, i) => `s${before + ((n + i) % width)}`),
    }
  })
}
