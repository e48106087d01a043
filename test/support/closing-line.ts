/** The last line of a run, plain: how many tests passed, failed and were left out. */
import type { Reporter, TestModule } from 'vitest/node'

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    let broken = 0
    for (const module of modules) {
      if (!module.ok() && [...module.children.allTests()].every((test) => test.result().state !== 'failed')) broken++
      for (const test of module.children.allTests()) counts[test.result().state]++
    }
    process.on('exit', () => {
      console.log(
        `${counts.passed} passed, ${counts.failed + broken} failed, ${counts.skipped + counts.pending} skipped`,
      )
    })
  }
}
