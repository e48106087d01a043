/**
 * Carillon inside the program whose handlers it runs, on PostgreSQL and without a node, as the peers are: one process submits,
 * one runs everything.
 */
import { createCarillon, defineHandler } from '@carillon/server'
import type { Ground } from '../ground/ground.ts'
import { handlerNames } from '../work.ts'
import { librarySubmitter, openStore as openCarillon, type StoreOptions, settingsOf } from './carillon.ts'
import type { PeerPayload } from './peer.ts'
import type { Store, Wiring } from './wiring.ts'

export const wiring: Wiring = {
  async submitter(place) {
    return { ...librarySubmitter(place), one: () => Promise.reject(new Error('the library is measured in bulk only')) }
  },

  async worker(place, run) {
    const { databaseUrl, concurrency } = settingsOf(place)
    const carillon = await createCarillon({ databaseUrl })
    for (const name of handlerNames) {
      carillon.handle(defineHandler<PeerPayload>({ name }), { concurrency }, ({ payload }) => {
        run(payload)
        return null
      })
    }
    return { start: () => carillon.start(), close: () => carillon.stop() }
  },
}

export async function openStore(ground: Ground, options: StoreOptions): Promise<Store> {
  const store = await openCarillon(ground, { ...options, nodes: 0 })
  return { ...store, workers: 1, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() }
}
