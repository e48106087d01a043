/**
 * A process that runs seeds on a database of its own, one after the other, as its parent asks: globals are replaced while
 * it does. It ends with its parent.
 */
import { Ground } from './ground.ts'
import { type SeedReport, simulate } from './simulation.ts'
import { variants } from './variants/index.ts'

export interface Order {
  seed: number
  variant: string | null
}

export type Answer = { ready: true } | { order: Order; report: SeedReport } | { order: Order; failure: string }

process.once('disconnect', () => process.exit(1))
const tell = (answer: Answer) => process.send!(answer)

const ground = await Ground.lay(process.argv[2]!)
let broken: { name: string; mend: (() => Promise<void>)[] } | null = null

process.on('message', (order: Order) => {
  carryOut(order).then(
    (report) => tell({ order, report }),
    (error: Error) => tell({ order, failure: error.stack ?? String(error) }),
  )
})
tell({ ready: true })

async function carryOut({ seed, variant: name }: Order): Promise<SeedReport> {
  if (broken !== null && broken.name !== name) {
    for (const mend of broken.mend.reverse()) await mend()
    broken = null
  }
  const variant = name === null ? null : variants.find((each) => each.name === name)!
  if (variant !== null && broken === null) {
    broken = { name: variant.name, mend: [] }
    for (const change of variant.sql ?? []) broken.mend.push(await ground.change(change))
  }
  return simulate(ground, seed, variant)
}
