/**
 * What a handler's process starts with. It must not outlive the worker: when the worker is gone, however it went, the
 * channel to it closes and this process exits. A handler that blocks the event loop would not see that, so a thread
 * beside it watches for the parent too.
 */
import { Worker as Thread } from 'node:worker_threads'
import { serveHandler } from './child.ts'
import type { ChildSetup, FromChild, ToChild } from './messages.ts'

const parentWatch = `
  const { workerData } = require('node:worker_threads')
  setInterval(() => {
    if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
  }, 500)
`

const setup = JSON.parse(process.argv[2]!) as ChildSetup
const send = (message: FromChild) => {
  // The channel may close while the last message is sent; the parent has gone then.
  if (process.connected) process.send!(message, () => {})
}
const receive = serveHandler(setup, send)

process.on('message', (message) => receive(message as ToChild))
process.on('disconnect', () => process.exit(0))
// A Ctrl-C reaches the whole group. The worker drains and tells its handlers itself.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
new Thread(parentWatch, { eval: true, workerData: process.ppid }).unref()
