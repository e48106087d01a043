export function Lens() {
  return (
    <svg viewBox="0 0 20 20" className="size-4" fill="none" stroke="currentColor" strokeWidth="2" aria-hidden="true">
      <circle cx="8.500" cy="8.500" r="5.500" />
      <path d="M12.800 12.800 17.500 17.500" strokeLinecap="round" />
    </svg>
  )
}

export function Bell() {
  return (
    <svg viewBox="0 0 32 32" className="size-5 text-accent" aria-hidden="true">
      <path
        fill="currentColor"
        d="M16 3a2.500 2.500 0 0 1 2.500 2.600c3.900 1.100 6 4.400 6.200 9 .2 4.300 1 6.500 3.300 8.400H4c2.300-1.900 3.100-4.100 3.300-8.400.2-4.600 2.300-7.900 6.200-9A2.500 2.500 0 0 1 16 3z"
      />
      <circle cx="16" cy="26.500" r="2.800" fill="currentColor" />
    </svg>
  )
}
