import type { Execution } from '@carillon/contract'
import { Json } from '../../components/json.tsx'
import { Panel } from '../../components/panel.tsx'

/** What the handler was given, what it returned, and what it failed with. */
export function Data({ execution: { payload, result, error, state } }: { execution: Execution }) {
  return (
    <>
      {error !== null && state !== 'SUCCEEDED' && <ErrorPanel error={error} />}
      <Panel title="Data">
        <div className="divide-y divide-line">
          <Json name="Payload" value={payload} />
          {state === 'SUCCEEDED' && <Json name="Result" value={result} />}
        </div>
      </Panel>
    </>
  )
}

export function ErrorPanel({ error }: { error: NonNullable<Execution['error']> }) {
  return (
    <Panel title="Error">
      <p className="px-4 pt-3 pb-2 break-words">
        <strong className="text-bad">{error.name}</strong> {error.message}
      </p>
      {error.stack !== undefined && <Stack text={error.stack} />}
    </Panel>
  )
}

export function Stack({ text }: { text: string }) {
  return (
    <details className="pb-2">
      <summary className="px-4 py-1 text-soft">Stack</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="mx-4 my-1 max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-[13px]">
        {text}
      </pre>
    </details>
  )
}
