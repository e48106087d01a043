/** Labels: `name:text`, as the filter of the list takes them. */
export function labelsOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim().replace('=', ':'))
    .filter((each) => /^[^:]+:.+$/.test(each))
}

export function Labels({
  of,
  onLabel,
}: {
  of: Record<string, string>
  /** Chosen, it filters a list. */
  onLabel?: (label: string) => void
}) {
  const shape = 'inline-block max-w-full rounded border border-line px-1.5 break-words text-soft'
  return (
    <span className="inline-flex min-w-0 flex-wrap gap-1">
      {Object.entries(of).map(([name, text]) =>
        onLabel ? (
          <button
            key={name}
            type="button"
            className={`${shape} hover:bg-sunken hover:text-ink`}
            title={`Only jobs with ${name}: ${text}`}
            onClick={() => onLabel(`${name}:${text}`)}
          >
            {name}: {text}
          </button>
        ) : (
          <span key={name} className={shape}>
            {name}: {text}
          </span>
        ),
      )}
    </span>
  )
}
