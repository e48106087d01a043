/** What a worker thread starts with. */
import { parentPort, workerData } from 'node:worker_threads'
import { serveHandler } from './child.ts'
import type { ChildSetup, ToChild } from './messages.ts'

const port = parentPort!
const receive = serveHandler(workerData as ChildSetup, (message) => port.postMessage(message))
port.on('message', (message: ToChild) => receive(message))
