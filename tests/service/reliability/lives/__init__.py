"""Small applications that are killed and begun again, and a page that says what must be there."""
