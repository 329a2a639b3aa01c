// Returns the value of a number with its unit.
const worth = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Tbit: 1e12, kB: 1e3, MB: 1e6, GB: 1e9 };
const value = (text) => {
  const match = text.match(/^([0-9.]+) ?([a-zA-Z]*)/);
  return match ? parseFloat(match[1]) * (worth[match[2]] || 1) : -1;
};
// Makes each head of a sortable table a button that sorts by its column: numbers downwards, names upwards.
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  heads.forEach((head, column) => {
    // Not a button element: browsers do not repeat those when a table continues on the next printed page.
    const button = document.createElement('span');
    button.setAttribute('role', 'button');
    button.tabIndex = 0;
    button.append(...head.childNodes);
    head.append(button);
    const isNumber = head.classList.contains('number');
    const key = (row) => row.cells[column].textContent.replace(/,/g, '');
    const compare = (a, b) =>
      isNumber ? value(key(a)) - value(key(b)) : key(a).localeCompare(key(b), 'en', { numeric: true });
    const sort = () => {
      const was = head.getAttribute('aria-sort');
      const order = was ? (was === 'ascending' ? -1 : 1) : isNumber ? -1 : 1;
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', order === 1 ? 'ascending' : 'descending');
      table.tBodies[0].append(...Array.from(table.tBodies[0].rows).sort((a, b) => order * compare(a, b)));
    };
    button.addEventListener('click', sort);
    button.addEventListener('keydown', (event) => {
      if (['Enter', ' '].includes(event.key)) {
        event.preventDefault();
        sort();
      }
    });
  });
}
