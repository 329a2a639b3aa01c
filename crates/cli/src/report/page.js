// Each head of a sortable table becomes a button that sorts by its column: numbers first downwards, names upwards.
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  heads.forEach((head, column) => {
    // Not a button element: browsers do not print those again on the pages that a table goes on.
    const button = document.createElement('span');
    button.setAttribute('role', 'button');
    button.tabIndex = 0;
    button.append(...head.childNodes);
    head.append(button);
    const isNumber = head.classList.contains('number');
    const key = (row) => row.cells[column].textContent.replace(/,/g, '');
    const compare = (a, b) =>
      isNumber ? parseFloat(key(a)) - parseFloat(key(b)) : key(a).localeCompare(key(b), 'en', { numeric: true });
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
