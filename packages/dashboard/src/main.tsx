import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Loading, Trouble } from './components/answer.tsx'
import { Refusal } from './lib/api.ts'
import { CallerContext } from './lib/caller.ts'
import { queryClient, useAsk } from './lib/queries.ts'
import { useSession } from './lib/session.ts'
import { router } from './routes.tsx'
import { SignIn } from './views/sign-in.tsx'
import './styles.css'

/** Nothing is shown before it is known who is asking. */
function Entrance() {
  const { token, tenant } = useSession()
  return <Known key={`${token} ${tenant}`} hasToken={token !== null} />
}

function Known({ hasToken }: { hasToken: boolean }) {
  const me = useAsk('getMe', {})
  if (me.data) {
    return (
      <CallerContext value={me.data}>
        <RouterProvider router={router} />
      </CallerContext>
    )
  }
  if (me.error instanceof Refusal && me.error.status === 401) {
    return <SignIn refused={hasToken ? me.error.message : undefined} />
  }
  if (me.error) return <Trouble error={me.error} again={() => void me.refetch()} />
  return <Loading />
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Entrance />
    </QueryClientProvider>
  </StrictMode>,
)
