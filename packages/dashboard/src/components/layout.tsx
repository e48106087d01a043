import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { useCaller } from '../lib/caller.ts'
import { type Place, placesOf } from '../lib/places.ts'
import { useAsk } from '../lib/queries.ts'
import { useReachable } from '../lib/reach.ts'
import { signOut, useSession } from '../lib/session.ts'
import { useShortcuts } from '../lib/shortcuts.ts'
import { setTheme, theme, themes } from '../lib/theme.ts'
import { Button } from './button.tsx'
import { Help } from './help.tsx'
import { Bell, Lens } from './icons.tsx'
import { Palette } from './palette.tsx'
import { TenantChoice } from './tenant-choice.tsx'

export function Layout() {
  const [shown, show] = useState<'palette' | 'help' | 'menu' | null>(null)
  const openPalette = useCallback(() => show('palette'), [])
  const openHelp = useCallback(() => show('help'), [])
  useShortcuts({ openPalette, openHelp })
  const me = useCaller()
  const { node } = me
  const visible = placesOf(me)
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-20 focus:bg-panel focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <aside className="border-line max-lg:border-b lg:sticky lg:top-0 lg:flex lg:h-dvh lg:flex-col lg:border-r">
        <div className="flex items-center justify-between gap-2 px-4 py-3">
          <Link to="/" className="flex items-center gap-2 text-base font-semibold">
            <Bell />
            Carillon
          </Link>
          <div className="flex gap-1 lg:hidden">
            <Button kind="quiet" aria-label="Search" onClick={openPalette}>
              <Lens />
            </Button>
            <Button
              kind="quiet"
              aria-expanded={shown === 'menu'}
              aria-controls="views"
              onClick={() => show(shown === 'menu' ? null : 'menu')}
            >
              Menu
            </Button>
          </div>
        </div>
        <div
          id="views"
          className={`${shown === 'menu' ? '' : 'max-lg:hidden'} lg:flex lg:min-h-0 lg:flex-1 lg:flex-col`}
        >
          <nav aria-label="Views" className="px-2 pb-2 lg:flex-1 lg:overflow-y-auto">
            <button
              type="button"
              onClick={openPalette}
              className="mb-2 flex w-full items-center justify-between rounded-md border border-line bg-panel px-2.5 py-1 text-soft max-lg:hidden"
            >
              Search
              <kbd className="font-mono text-xs">Ctrl K</kbd>
            </button>
            {visible.map((place) => (
              <ViewLink key={place.path} place={place} onFollow={() => show(null)} />
            ))}
          </nav>
          <Foot node={`${node.name} ${node.version}`} onHelp={openHelp} />
        </div>
      </aside>
      <div className="min-w-0">
        <Away />
        <main id="main" tabIndex={-1} className="mx-auto max-w-[90rem] px-4 py-4 outline-none sm:px-6 lg:py-6">
          <Outlet />
        </main>
      </div>
      {shown === 'palette' && <Palette onClose={() => show(null)} />}
      {shown === 'help' && <Help onClose={() => show(null)} />}
    </div>
  )
}

const current = 'bg-accent-soft font-semibold text-accent'

function ViewLink({ place, onFollow }: { place: Place; onFollow: () => void }) {
  const isAtDetail = useLocation({
    select: ({ pathname }) => place.details !== undefined && pathname.startsWith(place.details),
  })
  return (
    <Link
      to={place.path}
      onClick={onFollow}
      activeOptions={{ exact: place.path === '/', includeSearch: false }}
      className={`block rounded-md px-2.5 py-1.5 hover:bg-sunken ${isAtDetail ? current : ''}`}
      activeProps={{ className: current, 'aria-current': 'page' }}
    >
      {place.name}
    </Link>
  )
}

function Foot({ node, onHelp }: { node: string; onHelp: () => void }) {
  const me = useCaller()
  const { token, tenant } = useSession()
  const [chosen, choose] = useState(theme)
  const next = themes[(themes.indexOf(chosen) + 1) % themes.length]!
  return (
    <div className="space-y-2 border-t border-line px-4 py-3 text-soft">
      {me.tenant === null && <TenantChoice key={tenant} />}
      <p className="break-words" title={`Signed in as ${me.name}`}>
        {me.name}
        {me.tenant !== null && <> · {me.tenant}</>}
      </p>
      <p className="break-words text-xs">{node}</p>
      <div className="flex flex-wrap gap-1">
        <Button
          kind="quiet"
          className="-ml-2"
          aria-label={`Theme: ${chosen}. Change to ${next}`}
          onClick={() => {
            setTheme(next)
            choose(next)
          }}
        >
          {{ system: '◐ System', light: '○ Light', dark: '● Dark' }[chosen]}
        </Button>
        <Button kind="quiet" aria-label="Keys" onClick={onHelp}>
          ?
        </Button>
        {token !== null && (
          <Button kind="quiet" onClick={signOut}>
            Sign out
          </Button>
        )}
      </div>
    </div>
  )
}

/** Views ask when they have something to ask; this asks so that a node that is away is noticed in any of them. */
const askEveryMs = 5_000

function Away() {
  useAsk('healthz', {}, { everyMs: askEveryMs })
  const isReachable = useReachable()
  return (
    <div role="status" aria-live="polite">
      {!isReachable && (
        <p className="bg-bad-soft px-4 py-2 text-center font-medium text-bad">
          The node does not answer. What you see is from before; it is asked again every two seconds.
        </p>
      )}
    </div>
  )
}
