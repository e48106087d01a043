/** Watches a closed loop in its process: tells how it goes and what each role used of the processors while it measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Generator } from '../ground/ground.ts'
import { type Cpu, cpuBetween } from '../measure/cpu.ts'
import type { Bench } from '../scenario.ts'
import type { LoopAnswer, LoopWord } from './closed-loop.ts'

export interface WatchedLoop extends LoopAnswer {
  cpu: Cpu
}

const lookEveryMs = 20

export async function watchLoop(bench: Bench, loop: Generator<LoopAnswer>): Promise<WatchedLoop> {
  const used: Cpu[] = []
  let told = 0
  let over = false
  const end = () => {
    over = true
  }
  loop.answer.then(end, end)
  while (!over && used.length < 2) {
    await sleep(lookEveryMs)
    const word = loop.said() as LoopWord | undefined
    if (word === undefined) continue
    if (word.phase !== 'WARM_UP' && used.length === 0) used.push(await bench.ground.cpu())
    if (word.phase === 'ENDING') used.push(await bench.ground.cpu())
    else if (word.answered !== told) {
      bench.progress(`${word.answered} answered, ${word.phase === 'WARM_UP' ? 'warming up' : 'measuring'}`)
      told = word.answered
    }
  }
  const answer = await loop.answer
  return { ...answer, cpu: cpuBetween(used[0]!, used[1]!) }
}
