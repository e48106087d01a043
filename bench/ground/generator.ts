import type { Children } from './children.ts'
import type { GeneratorProcessOptions, GeneratorProcessOrder, GeneratorProcessWord } from './generator-process.ts'
import type { Generator } from './ground.ts'

const program = new URL('./generator-process.ts', import.meta.url)

export async function startGenerator<Answer>(
  children: Children,
  module: URL,
  options: object,
): Promise<Generator<Answer>> {
  const whole: GeneratorProcessOptions = { module: module.href, options }
  const { child } = await children.start('generator', program, whole)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const ready = Promise.withResolvers<void>()
  let said: unknown
  child.on('message', (word: GeneratorProcessWord) => {
    if (word.what === 'said') said = word.word
    else if (word.what === 'ready') ready.resolve()
    else if (word.what === 'answer') resolve(word.answer as Answer)
    else reject(new Error(word.message))
  })
  // Whoever is gone is told nothing: without somebody to hear of that, it would end the whole run and hide why.
  const order = (word: GeneratorProcessOrder) => void (child.connected && child.send(word, () => {}))
  const answer = promise.finally(() => children.end(child))
  // It may fail before anybody asks for it, and before it is ready.
  answer.catch(ready.reject)
  ready.promise.catch(() => {})
  return {
    answer,
    ready: ready.promise,
    go: () => order({ what: 'go' }),
    said: () => said,
    tell: (word) => order({ what: 'told', word }),
    stop: () => order({ what: 'stop' }),
  }
}
