/** Load in a process of its own, so that what making it costs is told apart: calls the default export of a module. */
import type { Load } from './ground.ts'

export interface GeneratorProcessOptions {
  module: string
  options: object
}

export type GeneratorProcessWord =
  | { what: 'ready' }
  | { what: 'said'; word: unknown }
  | { what: 'answer'; answer: unknown }
  | { what: 'error'; message: string }

/** From the parent. */
export type GeneratorProcessOrder = { what: 'go' } | { what: 'stop' } | { what: 'told'; word: unknown }

const { module, options } = JSON.parse(process.argv[2]!) as GeneratorProcessOptions
const load = ((await import(module)) as { default: Load<object, unknown> }).default
const stopping = new AbortController()
const going = Promise.withResolvers<void>()
const listeners: ((word: unknown) => void)[] = []
const say = (word: GeneratorProcessWord) => void process.send!(word)

process.on('message', (order: GeneratorProcessOrder) => {
  if (order.what === 'go') going.resolve()
  else if (order.what === 'stop') stopping.abort()
  else for (const listen of listeners) listen(order.word)
})
process.send!('started')
try {
  const answer = await load(options, {
    signal: stopping.signal,
    ready() {
      say({ what: 'ready' })
      return going.promise
    },
    say: (word) => say({ what: 'said', word }),
    onTold: (listen) => void listeners.push(listen),
  })
  say({ what: 'answer', answer })
} catch (error) {
  say({ what: 'error', message: (error as Error).stack ?? String(error) })
}
