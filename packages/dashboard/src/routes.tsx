/** The addresses of the views. Each view is loaded when it is first opened. Filters live in the address. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { Nothing, Trouble } from './components/answer.tsx'
import { LinkButton } from './components/button.tsx'
import { Layout } from './components/layout.tsx'

/** What stands in an address after `?`, as it was written. */
export type Search = Record<string, string | undefined>

const root = createRootRoute({
  component: Layout,
  validateSearch: (search): Search =>
    Object.fromEntries(
      Object.entries(search)
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => [name, String(value)]),
    ),
  errorComponent: ({ error, reset }) => <Trouble error={error as Error} again={reset} />,
  notFoundComponent: () => (
    <Nothing title="There is no such page">
      <LinkButton to="/">Go to Now</LinkButton>
    </Nothing>
  ),
})

function view<const Path extends string>(path: Path, load: () => Promise<{ default: React.ComponentType }>) {
  return createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load) })
}

const tree = root.addChildren([
  view('/', () => import('./views/now/now.tsx')),
  view('/ahead', () => import('./views/ahead/ahead.tsx')),
  view('/jobs', () => import('./views/jobs/jobs.tsx')),
  view('/jobs/new', () => import('./views/jobs/new-job.tsx')),
  view('/jobs/$jobId', () => import('./views/jobs/job.tsx')),
  view('/jobs/$jobId/edit', () => import('./views/jobs/edit-job.tsx')),
  view('/executions', () => import('./views/executions/executions.tsx')),
  view('/executions/$executionId', () => import('./views/executions/execution.tsx')),
  view('/dags', () => import('./views/dags/dags.tsx')),
  view('/dags/$dagId', () => import('./views/dags/dag.tsx')),
  view('/dag-runs/$runId', () => import('./views/dags/run.tsx')),
  view('/dead-letters', () => import('./views/dead-letters/dead-letters.tsx')),
  view('/workers', () => import('./views/workers/workers.tsx')),
  view('/workers/$workerId', () => import('./views/workers/worker.tsx')),
  view('/proof', () => import('./views/proof/proof.tsx')),
  view('/tenants', () => import('./views/tenants/tenants.tsx')),
  view('/tenants/$tenant', () => import('./views/tenants/tenant.tsx')),
  view('/audit', () => import('./views/audit/audit.tsx')),
  view('/tokens', () => import('./views/tokens/tokens.tsx')),
])

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  // Plain texts: `?state=DEAD`, not JSON.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    const text = new URLSearchParams(given as [string, string][]).toString()
    return text === '' ? '' : `?${text}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
