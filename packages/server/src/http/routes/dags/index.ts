import { deleteDag, replaceDag } from './change.ts'
import { cancelDagRun, pauseDagRun, resumeDagRun, retryDagRun, signalStep } from './change-run.ts'
import { createDag } from './create.ts'
import { getDag } from './get.ts'
import { listDags } from './list.ts'
import { getDagRun, listDagRuns } from './runs.ts'
import { runDag, runSteps } from './start-run.ts'

export const dagsRoutes = {
  createDag,
  listDags,
  getDag,
  replaceDag,
  deleteDag,
  runDag,
  runSteps,
  listDagRuns,
  getDagRun,
  cancelDagRun,
  pauseDagRun,
  resumeDagRun,
  retryDagRun,
  signalStep,
}
