/** A worker to be killed: it runs a handler in a process of its own that never ends. */
import { defineHandler } from '../../../handler.ts'
import { implementHandler } from '../../running/registered-handler.ts'
import { execution, ScriptedTransport } from '../../testing/scripted-transport.ts'
import { Worker } from '../../worker.ts'

const transport = new ScriptedTransport()
const module = new URL('./handlers.ts', import.meta.url)
const handler = implementHandler(defineHandler({ name: 'test' }), module, { isolation: 'PROCESS' })
await new Worker({ transport, handlers: [handler] }).start()
transport.offer(execution({ payload: process.argv[2] }))
