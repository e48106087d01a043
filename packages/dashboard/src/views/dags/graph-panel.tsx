import { lazy, Suspense } from 'react'
import { Loading } from '../../components/answer.tsx'
import { useWide } from '../../lib/wide.ts'
import type { GraphProps } from './graph-step.ts'

const Graph = lazy(() => import('./graph.tsx'))

/** The graph where there is room for it. A phone has the table of steps, and does not load what draws. */
export function GraphPanel(props: GraphProps) {
  if (!useWide()) return null
  return (
    <Suspense fallback={<Loading />}>
      <Graph key={props.shape} {...props} />
    </Suspense>
  )
}
