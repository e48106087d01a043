/** Light, dark, or as the viewer's system is. public/theme.js applies it before the first paint. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export function theme(): Theme {
  return (document.documentElement.dataset.theme as Theme | undefined) ?? 'system'
}

export function setTheme(wanted: Theme): void {
  document.documentElement.dataset.theme = wanted
  localStorage.setItem('theme', wanted)
}
