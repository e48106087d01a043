/** The thread behind KeepAlive. It reports only when the main thread has been silent for longer than a heartbeat. */

import { parentPort, workerData } from 'node:worker_threads'
import { CarillonError } from '@carillon/contract'
import { silentLogger, systemClock } from '@carillon/contract/process'
import { Nodes } from '../../http/nodes.ts'
import { type KeepAliveMessage, type KeepAliveSettings, type KeepAliveWord, shown } from './keep-alive.ts'

const settings = workerData as KeepAliveSettings
const { everyMs, nodes: options } = settings
/** A main thread that reports as it should is never this late, but well before the worker is taken for lost. */
const silentMs = everyMs * 1.25
const lookEveryMs = everyMs / 4

let { token, registration } = settings
let reportsSeen = -1
let reportedAt = systemClock.now()
let beatenAt = Number.NEGATIVE_INFINITY
let beating = false
let failing = false

const nodes = new Nodes({
  ...options,
  ...(token !== undefined && { token: () => token! }),
  timeoutMs: Math.max(1_000, everyMs),
  logger: silentLogger,
})

parentPort!.on('message', (message: KeepAliveMessage) => {
  if ('token' in message) token = message.token
  else registration = message.registration
})

setInterval(() => void look(), lookEveryMs)
say({ ready: true })

function say(word: KeepAliveWord): void {
  parentPort!.postMessage(word)
}

async function look(): Promise<void> {
  const now = systemClock.now()
  const reports = settings.shown[shown.reports]!
  if (reports !== reportsSeen) {
    reportsSeen = reports
    reportedAt = now
  }
  const silence = now - reportedAt
  if (beating || silence < silentMs || now - beatenAt < everyMs * 0.9) return
  if (silence > settings.shown[shown.longestRunMs]! + 2 * everyMs) return
  beating = true
  try {
    await beat()
    beatenAt = now
    failing = false
  } catch (error) {
    if (!failing) say({ trouble: error instanceof Error ? error.message : String(error) })
    failing = true
  } finally {
    beating = false
  }
}

async function beat(): Promise<void> {
  const path = `/v1/workers/${registration.workerId}/report`
  try {
    await nodes.request({ method: 'POST', path, body: '{}', repeatable: true })
  } catch (error) {
    if (!(error instanceof CarillonError && error.code === 'WORKER_UNKNOWN')) throw error
    await nodes.request({ method: 'POST', path: '/v1/workers', body: JSON.stringify(registration), repeatable: true })
  }
}
