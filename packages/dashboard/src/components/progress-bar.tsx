/** A share of a whole, from 0 to 1; null: it is not known yet. */
export function ProgressBar({ share, label }: { share: number | null; label: string }) {
  const percent = share === null ? 0 : Math.round(Math.min(1, Math.max(0, share)) * 100)
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(share !== null && { 'aria-valuenow': percent })}
      className="h-2 w-full overflow-hidden rounded-full bg-sunken"
    >
      <div
        className={`h-full rounded-full bg-accent transition-[width] ${share === null ? 'w-1/4 animate-pulse' : ''}`}
        {...(share !== null && { style: { width: `${percent}%` } })}
      />
    </div>
  )
}
