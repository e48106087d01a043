/** A JSON value, collapsible where it is long. */
export function Json({ value, name, open = true }: { value: unknown; name: string; open?: boolean }) {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  const lines = text.split('\n').length
  return (
    <details open={open && lines <= 40} className="min-w-0">
      <summary className="px-4 py-2 font-medium">
        {name} <span className="font-normal text-soft">{lines === 1 ? text.slice(0, 60) : `${lines} lines`}</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="mx-4 mb-3 max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-[13px]">
        {text}
      </pre>
    </details>
  )
}
