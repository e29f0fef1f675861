// Sets the chosen theme before the first paint. A file of its own, because the page allows no inline scripts.
try {
  const theme = localStorage.getItem('millrace.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; then the system's theme holds.
}
