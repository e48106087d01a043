// Before the first paint, so that a dark page does not flash white.
document.documentElement.dataset.theme = localStorage.getItem('theme') ?? 'system'
