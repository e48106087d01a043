import type { Command } from 'commander'
import { act } from '../context.ts'
import { type DemoOptions, runDemo } from '../demo/demo.ts'
import { wholeNumber } from '../pages.ts'
import { addScaleOutOptions } from '../scale-out-options.ts'

/** `carillon demo`: a whole installation with sample jobs. */
export function registerDemo(program: Command): void {
  addScaleOutOptions(program.command('demo'))
    .description('a whole installation to try: PostgreSQL, a node, a worker and some jobs')
    .option('--data <directory>', 'where its data is kept', './data/demo')
    .option('--port <number>', 'where to listen; the next free one if it is taken', wholeNumber(1), 7171)
    .action(act((context, options: DemoOptions) => runDemo(context, options)))
}
